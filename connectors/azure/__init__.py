"""Azure Retail Prices: paged listings and their wire format."""
