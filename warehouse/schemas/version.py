"""The version of the published contract.

Major: a listed name, type, key or meaning changed. Minor: a table or a column was added.
"""

SCHEMA_VERSION = "1.1.0"
