def prod(numbers):
    result = 1
    for n in numbers:
        result *= n
    return result
