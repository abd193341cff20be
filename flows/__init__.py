"""Conduct the nightly refresh: settings, Prefect flows, and the price-catalog command."""
