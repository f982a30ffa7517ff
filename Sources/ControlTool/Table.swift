/// A table whose columns are dropped, the least needed first, until it fits the terminal.
struct Table {
    struct Column {
        let title: String
        let width: Int
        /// Numbers stand at the right.
        var isRight = false
        /// The lower, the sooner it is left out; the columns of the highest stay always.
        var worth = 0
    }

    /// Columns that are shown, by their place among all.
    private let shown: [Int]
    private let all: [Column]

    /// - Parameter width: of the terminal; nil: as much as it takes.
    init(_ columns: [Column], width: Int?) {
        all = columns
        var left = Array(columns.indices)
        func needs() -> Int { left.reduce(left.count - 1) { $0 + columns[$1].width } }
        let most = columns.map(\.worth).max() ?? 0
        while let width, needs() > width {
            guard
                let least = left.filter({ columns[$0].worth < most }).min(by: {
                    columns[$0].worth < columns[$1].worth
                })
            else { break }
            left.removeAll { $0 == least }
        }
        shown = left
    }

    var header: String { row(all.map(\.title)) }

    /// - Parameter cells: one for each column, shown or not.
    func row(_ cells: [String]) -> String {
        let parts = shown.map { index in
            let cell = index < cells.count ? cells[index] : ""
            let column = all[index]
            if column.isRight { return Text.right(cell, column.width) }
            // What is last needs no spaces behind it.
            return index == shown.last ? cell : Text.left(cell, column.width)
        }
        return parts.joined(separator: " ")
    }
}
