// Without UITable: the tests compile it with stubs of UIKit
// Without ableView: the tests compile it with stubs of UIKit
// Without IndexPath: the tests compile it with stubs of UIKit
// Without @Test: the tests run it
