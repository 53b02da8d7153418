/// What is known of SQLite's own functions.
enum SQLFunctions {
  /// Whether the result of `name`, in lower case, depends on the arguments alone.
  static func areKnown(_ name: String) -> Bool { pure.contains(name) }

  /// Left out: aggregates, and what depends on the time, on chance, on the connection or on settings.
  private static let pure: Set<String> = [
    "->", "->>", "abs", "char", "coalesce", "concat", "concat_ws", "format", "glob", "hex", "if",
    "ifnull", "iif", "instr", "json", "json_array", "json_array_length", "json_extract",
    "json_object", "json_quote", "json_type", "json_valid", "length", "like", "likelihood",
    "likely", "lower", "ltrim", "nullif", "octet_length", "printf", "quote", "replace", "round",
    "rtrim", "sign", "substr", "substring", "trim", "typeof", "unhex", "unicode", "unlikely",
    "upper", "zeroblob",
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh",
    "degrees", "exp", "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power",
    "radians", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
  ]
}
