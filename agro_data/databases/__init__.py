"""Databases: found and identified (`catalog`), read by us (`connections`), and by hostile SQL (`sandbox`)."""
