"""Fetch the providers' documents and read their wire formats. No business meaning here."""
