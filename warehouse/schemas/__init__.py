"""The data contract: every table, column, vocabulary and rule that is published."""
