public import Diffing

/// A section of ready-made elements, to test with; its model is one, too.
public typealias TestSection = ArraySection<TestElement, TestElement>
