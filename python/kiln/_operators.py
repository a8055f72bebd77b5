"""Python's operators, for arrays and for the nodes of fuse(): one table."""

BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "pow": "power", "lshift": "left_shift",
    "rshift": "right_shift", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}
COMPARE = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
           "ge": "greater_equal"}
UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def add_operators(cls, call, assign, operand):
    """Give `cls` all operators. `call(name, args)` computes, `assign(target, name, other)` is for
    those in place, `operand(value)` tells what may stand on the other side."""
    def binary(name):
        return (lambda a, b: call(name, (a, b)) if operand(b) else NotImplemented,
                lambda a, b: call(name, (b, a)) if operand(b) else NotImplemented,
                lambda a, b: assign(a, name, b) if operand(b) else NotImplemented)

    for word, name in BINARY.items():
        forward, backward, in_place = binary(name)
        setattr(cls, f"__{word}__", forward)
        setattr(cls, f"__r{word}__", backward)
        setattr(cls, f"__i{word}__", in_place)
    for word, name in COMPARE.items():
        setattr(cls, f"__{word}__", binary(name)[0])
    for word, name in UNARY.items():
        setattr(cls, f"__{word}__", lambda a, name=name: call(name, (a,)))
    setattr(cls, "__divmod__", lambda a, b: call("divmod", (a, b)))
    setattr(cls, "__rdivmod__", lambda a, b: call("divmod", (b, a)))
