import ca.odell.glazedlists.BasicEventList;
import ca.odell.glazedlists.EventList;
import ca.odell.glazedlists.FilterList;
import ca.odell.glazedlists.GroupingList;
import ca.odell.glazedlists.SortedList;
import ca.odell.glazedlists.UniqueList;
import ca.odell.glazedlists.matchers.AbstractMatcherEditor;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.Supplier;

// Measures edits of lists of Glazed Lists until the listener of a derived list has been called. PipelineBenchmarks runs
// this program and prints the times beside its own:
//
//     java -cp JAR PipelineEdits.java ROWS ROUNDS EDITS
//
// Each line of the output has the name of a pipeline, what was measured, and the median in microseconds.
final class PipelineEdits {
  static final long VALUES = 1L << 40;
  static final long GROUPS = 1024;

  record Row(int id, long value, String title) {
    boolean passes() { return value < VALUES / 2; }
    long group() { return value / (VALUES / GROUPS); }
    Row titled(String title) { return new Row(id, value, title); }
    Row changed() { return new Row(id, value ^ VALUES / 2, title); }
  }

  static final Comparator<Row> BY_VALUE = Comparator.comparingLong(Row::value);
  static final Comparator<Row> BY_GROUP = Comparator.comparingLong(Row::group);

  /** Keeps rows whose value is below a limit, which can be changed. */
  static final class Limit extends AbstractMatcherEditor<Row> {
    private long limit = VALUES / 2;

    Limit() { fireChanged(row -> row.value() < VALUES / 2); }

    void set(long next) {
      boolean isNarrower = next < limit;
      limit = next;
      if (isNarrower) {
        fireConstrained(row -> row.value() < next);
      } else {
        fireRelaxed(row -> row.value() < next);
      }
    }
  }

  /** A list with derived lists and a listener. */
  static final class Subject {
    final String name;
    final EventList<Row> rows = new BasicEventList<>();
    final Supplier<EventList<?>> derive;
    final List<double[]> times = new ArrayList<>();
    final Limit limit = new Limit();
    EventList<?> derived;
    int events;

    Subject(String name, List<Row> rows) {
      this.name = name;
      this.rows.addAll(rows);
      derive = () -> switch (name) {
        case "filter" -> new FilterList<>(this.rows, Row::passes);
        case "filter(by:)" -> new FilterList<>(this.rows, limit);
        case "sorted(by: key)" -> new SortedList<>(this.rows, BY_VALUE);
        case "sorted(by: property)" -> new SortedList<>(this.rows, BY_VALUE);
        case "filter.sorted" ->
            new SortedList<>(new FilterList<>(this.rows, Row::passes), BY_VALUE);
        case "sections(order:)" -> new GroupingList<>(this.rows, BY_GROUP);
        case "distinct(by:)" -> new UniqueList<>(this.rows, BY_VALUE);
        default -> this.rows;
      };
    }

    double build() {
      if (derived != null && derived != rows) derived.dispose();
      return processorMicroseconds(() -> {
        derived = derive.get();
        derived.addListEventListener(event -> { while (event.next()) events += 1; });
      });
    }
  }

  interface Edit { void apply(EventList<Row> rows); }

  static final String[] KINDS = {"update", "change", "insert", "delete", "move"};

  final Random random = new Random(1);
  final ArrayList<Boolean> passes = new ArrayList<>();
  int nextID = 0;

  Row row() {
    nextID += 1;
    return new Row(nextID, (random.nextLong() >>> 1) % VALUES, "Row " + nextID);
  }

  int middleOffset() { return passes.size() / 4 + random.nextInt(passes.size() / 2); }

  int passingOffset() {
    while (true) {
      int offset = middleOffset();
      if (passes.get(offset)) return offset;
    }
  }

  Edit edit(String kind) {
    int offset = kind.equals("change") ? middleOffset() : passingOffset();
    int destination = middleOffset();
    Row any = row();
    Row row = any.passes() ? any : any.changed();
    switch (kind) {
      case "update":
        return rows -> rows.set(offset, rows.get(offset).titled(row.title()));
      case "change":
        passes.set(offset, !passes.get(offset));
        return rows -> rows.set(offset, rows.get(offset).changed());
      case "insert":
        passes.add(offset, true);
        return rows -> rows.add(offset, row);
      case "delete":
        passes.remove(offset);
        return rows -> rows.remove(offset);
      default:
        // There are no moves: the row is removed and inserted, which are two events.
        passes.add(destination, passes.remove(offset));
        return rows -> rows.add(destination, rows.remove(offset));
    }
  }

  /** Returns the processor time of a long action, which depends less on other programs. */
  static double processorMicroseconds(Runnable body) {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long start = threads.getCurrentThreadCpuTime();
    body.run();
    return (threads.getCurrentThreadCpuTime() - start) / 1e3;
  }

  static double median(double[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  static double median(int count, Supplier<Double> value) {
    double[] values = new double[count];
    for (int index = 0; index < count; index++) values[index] = value.get();
    return median(values);
  }

  void measure(int count, int rounds, int edits, Consumer<String> print) {
    ArrayList<Row> rows = new ArrayList<>();
    for (int index = 0; index < count; index++) rows.add(row());
    for (Row row : rows) passes.add(row.passes());
    String[] names = {
      "plain", "filter", "filter(by:)", "sorted(by: key)", "sorted(by: property)", "filter.sorted",
      "sections(order:)", "distinct(by:)"
    };
    List<Subject> subjects = new ArrayList<>();
    for (String name : names) subjects.add(new Subject(name, rows));
    for (Subject subject : subjects) {
      double build = median(count < 500_000 ? rounds : 1, subject::build);
      print.accept(subject.name + "\tbuild\t" + build);
    }
    double[][][] times = new double[subjects.size()][KINDS.length][rounds];
    for (int round = 0; round < rounds; round++) {
      for (int kind = 0; kind < KINDS.length; kind++) {
        List<Edit> some = new ArrayList<>();
        for (int index = 0; index < edits; index++) some.add(edit(KINDS[kind]));
        for (int turn = 0; turn < subjects.size(); turn++) {
          int index = (turn + round) % subjects.size();
          EventList<Row> list = subjects.get(index).rows;
          double[] single = new double[edits];
          for (int position = 0; position < edits; position++) {
            Edit edit = some.get(position);
            long start = System.nanoTime();
            edit.apply(list);
            single[position] = (System.nanoTime() - start) / 1e3;
          }
          times[index][kind][round] = median(single);
        }
      }
    }
    for (int index = 0; index < subjects.size(); index++) {
      for (int kind = 0; kind < KINDS.length; kind++) {
        double[] medians = times[index][kind];
        print.accept(subjects.get(index).name + "\t" + KINDS[kind] + "\t" + median(medians));
      }
    }
    int repetitions = count < 500_000 ? rounds : 1;
    Limit limit = subjects.get(2).limit;
    print.accept("filter(by:)\tfilter(by:), of all rows, half stay\t" + median(repetitions, () -> {
      limit.set(VALUES);
      return processorMicroseconds(() -> limit.set(VALUES / 2));
    }));
    print.accept("filter(by:)\tfilter(by:), of half the rows, the others come\t"
        + median(repetitions, () -> {
      limit.set(VALUES / 2);
      return processorMicroseconds(() -> limit.set(VALUES));
    }));
    SortedList<Row> sorted = (SortedList<Row>) subjects.get(4).derived;
    boolean[] isReversed = {false};
    print.accept("sorted(by: property)\tsorted(by: property), reversed\t" + median(repetitions, () -> {
      isReversed[0] = !isReversed[0];
      Comparator<Row> order = isReversed[0] ? BY_VALUE.reversed() : BY_VALUE;
      return processorMicroseconds(() -> sorted.setComparator(order));
    }));
  }

  public static void main(String[] arguments) {
    int count = Integer.parseInt(arguments[0]);
    int rounds = Integer.parseInt(arguments[1]);
    int edits = Integer.parseInt(arguments[2]);
    // The first edits are slow, until their code has been compiled.
    new PipelineEdits().measure(2_000, 60, edits, line -> {});
    new PipelineEdits().measure(count, rounds, edits, System.out::println);
  }
}
