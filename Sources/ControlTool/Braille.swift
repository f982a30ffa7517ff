/// A bitmap drawn with Unicode braille patterns, whose characters are two dots wide and four high. In most terminals
/// the dots are equally spaced in both directions.
struct Braille {
    /// Width in characters.
    let columns: Int
    /// Height in lines.
    let rows: Int
    private var cells: [UInt8]
    private var marks: [Int: Character] = [:]

    /// Width in dots.
    var width: Int { columns * 2 }
    /// Height in dots.
    var height: Int { rows * 4 }

    init(columns: Int, rows: Int) {
        self.columns = max(columns, 1)
        self.rows = max(rows, 1)
        cells = [UInt8](repeating: 0, count: self.columns * self.rows)
    }

    /// Sets a dot; dots outside the bitmap are ignored. `y` points down.
    mutating func dot(_ x: Int, _ y: Int) {
        guard (0..<width).contains(x), (0..<height).contains(y) else { return }
        // The patterns originally had six dots; the bottom row was added later and has the highest bits.
        let bits: [UInt8] = [0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80]
        cells[y / 4 * columns + x / 2] |= bits[y % 4 * 2 + x % 2]
    }

    /// Draws a straight line between two dots (Bresenham).
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

    /// Overlays the character cell of a dot with a letter; the first letter in a cell stays.
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
