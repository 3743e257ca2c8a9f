"""Databases found, examined and identified by what they hold; watched for change."""
