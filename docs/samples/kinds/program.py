def largest_that_fits(candidates, limit_tokens, count):
    """The last candidate whose count is within the limit, found by halving."""
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        if count(candidates[middle]) <= limit_tokens:
            low = middle + 1
        else:
            high = middle
    return candidates[low - 1] if low else None
