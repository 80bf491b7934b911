"""What matters in a text: failures, results, structure, what is rare. Pure: bytes in, records out."""
