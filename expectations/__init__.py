"""The gate: one registry of rules, checked with polars row by row and with Great Expectations."""
