extension Command {
  static let helpText = """
    livelist: live collections, for every program that reads and writes lines.

    livelist watch [--key FIELD] [--until-eof] SOURCE
        Prints the events of a container that shows SOURCE, as JSON Lines: initial first,
        then each change, and the status when it changes.
    livelist view [--key FIELD] SOURCE
        Shows the same container as a live list on the terminal, whose lines stay where one looks;
        ? there lists the keys. Without a terminal it prints the list once.
    livelist diff [--key FIELD] [--format json|text] OLD NEW
        Prints one change event, or nothing where nothing differs. As text it is for people: a line
        for each element inserted (+), deleted (-), updated (~) or moved (>), with its offset, its
        key, and the fields that differ.
    livelist apply [OLD]
        Folds the events on standard input and prints the resulting elements as a JSON array,
        one a line. OLD is what they begin with where the first event is no initial.
    livelist merge --key FIELD [--prefer mine|theirs] [--strict] BASE MINE THEIRS
        Merges two lists that were edited apart, MINE and THEIRS, from what both were made of, BASE,
        and prints the elements as a JSON array, one a line. What one side alone has done is kept;
        where both have done different things to one element, that is a conflict: theirs holds,
        and a line on standard error tells.
    livelist --help
    livelist --version

    SOURCE, OLD, NEW, BASE, MINE, THEIRS:
        json:PATH          a file that holds a JSON array of objects or scalars
        jsonl:PATH         a file of JSON Lines: an element on each line; who appends to it inserts
                           at the end
        sqlite:PATH?SQL    the rows of a query, each an object of its columns; the database is
                           opened read-only, and its path holds no "?"
        lines:-            of view only: the events on standard input, as livelist watch writes them

    --key FIELD   The member or column by which elements are known, of every source that is shown.
                  Without it: the first column of a query, the whole element of a file.
    --format      json, one event for programs, which is the default; or text, in colours on a terminal
                  unless the environment's NO_COLOR is set.
    --prefer      The side that a conflict goes to: theirs, which is the default, or mine. What one
                  side has edited is kept where the other side, preferred or not, has deleted it,
                  but for theirs preferred, which has deleted what mine edited.
    --strict      With a conflict nothing is printed, and the exit status is 3.
    --until-eof   Ends with the input, when all that is due is printed.
    --            What follows is no option.

    watch carries out commands on standard input, one a line, unless that is a terminal and the
    output is not: then the keys are for the program that reads it.
        swap SOURCE        shows another source; only what differs is told, as one change
        quit               ends, when all that is due is printed

    Exit status: 0; 1 where a source cannot be loaded at the start, or events cannot be folded;
    2 where the command line cannot be understood; 3 where merge --strict met a conflict.

    """
}
