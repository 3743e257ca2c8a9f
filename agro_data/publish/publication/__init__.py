"""A version made public: checked, looked through for what is personal, put on the Hub."""
