"""What `tokcap doctor` looks at: one module per group of checks. Nothing is changed, let alone repaired."""
