"""What people wrote beside a database: `semantics.yml`, and what others knew."""
