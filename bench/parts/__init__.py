"""What benches are made with, and tests, too; nothing here is run by itself."""
