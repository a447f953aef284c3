"""What an instance costs an hour, by AWS's price list."""
