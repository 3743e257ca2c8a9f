"""Connections for the statements that this project writes itself."""
