"""What is published (schemas) and how it is stored: landing, releases, queries."""
