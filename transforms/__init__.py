"""Turn raw tables into prices, reference tables and views. Pure functions over polars frames."""
