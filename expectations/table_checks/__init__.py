"""Table checks: what holds for a table as a whole, between tables, or between releases."""
