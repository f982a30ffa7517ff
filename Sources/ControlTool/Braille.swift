/// A drawing of dots, eight to a character: the braille patterns of Unicode, two dots wide and four high. In most
/// terminals these dots are as far apart across as they are down.
struct Braille {
    /// Characters.
    let columns: Int
    /// Lines of characters.
    let rows: Int
    private var cells: [UInt8]
    private var marks: [Int: Character] = [:]

    /// Dots across.
    var width: Int { columns * 2 }
    /// Dots down.
    var height: Int { rows * 4 }

    init(columns: Int, rows: Int) {
        self.columns = max(columns, 1)
        self.rows = max(rows, 1)
        cells = [UInt8](repeating: 0, count: self.columns * self.rows)
    }

    /// Sets a dot; one outside the drawing is left out. `y` counts down.
    mutating func dot(_ x: Int, _ y: Int) {
        guard (0..<width).contains(x), (0..<height).contains(y) else { return }
        // The patterns began with six dots; the lowest row came later and has the highest bits.
        let bits: [UInt8] = [0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80]
        cells[y / 4 * columns + x / 2] |= bits[y % 4 * 2 + x % 2]
    }

    /// Draws a straight line between two dots within the drawing (Bresenham).
    mutating func line(from a: (x: Int, y: Int), to b: (x: Int, y: Int)) {
        let (dx, dy) = (abs(b.x - a.x), -abs(b.y - a.y))
        let (stepX, stepY) = (a.x < b.x ? 1 : -1, a.y < b.y ? 1 : -1)
        var (x, y, error) = (a.x, a.y, dx + dy)
        while true {
            dot(x, y)
            if x == b.x && y == b.y { return }
            let twice = 2 * error
            if twice >= dy {
                error += dy
                x += stepX
            }
            if twice <= dx {
                error += dx
                y += stepY
            }
        }
    }

    /// Puts a letter over the dots of a character; the first one there stays.
    mutating func mark(_ x: Int, _ y: Int, _ letter: Character) {
        guard (0..<width).contains(x), (0..<height).contains(y) else { return }
        let cell = y / 4 * columns + x / 2
        if marks[cell] == nil { marks[cell] = letter }
    }

    /// The lines from top to bottom, `columns` characters each.
    func lines(mark: (Character) -> String) -> [String] {
        (0..<rows).map { row in
            (0..<columns).map { column in
                let cell = row * columns + column
                if let letter = marks[cell] { return mark(letter) }
                return cells[cell] == 0 ? " " : String(UnicodeScalar(0x2800 + UInt32(cells[cell])) ?? " ")
            }.joined()
        }
    }
}
