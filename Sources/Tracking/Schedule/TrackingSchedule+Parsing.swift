extension TrackingSchedule {
    /// What is wrong with a schedule, and where.
    package struct Flaw: Error, Equatable, Sendable, CustomStringConvertible {
        /// Index of the window in the list, from 0.
        package let index: Int
        /// Column of the first byte that is wrong, from 1.
        package let column: Int
        /// What to write instead.
        package let advice: String

        package var description: String { "window \(index + 1), column \(column): \(advice)" }
    }

    /// Parses windows such as `mon-fri 07:00-18:30`, `sat,sun 22:00-06:00` or `fri-mon 00:00-24:00`. Case does not
    /// matter, nor do spaces around.
    package init(_ entries: [String]) throws(Flaw) {
        guard !entries.isEmpty, entries.count <= Self.limit else {
            let advice = "a schedule has 1 to \(Self.limit) windows, not \(entries.count)"
            throw Flaw(index: min(entries.count, Self.limit), column: 1, advice: advice)
        }
        var windows: [Window] = []
        for (index, entry) in entries.enumerated() {
            var scanner = Scanner(index: index, text: entry)
            windows.append(try scanner.window())
        }
        self.init(windows: windows)
    }

    private struct Scanner {
        static let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        /// Bytes; longer than any window can be written.
        static let limit = 80

        let index: Int
        let bytes: [UInt8]
        var position = 0

        init(index: Int, text: String) {
            self.index = index
            bytes = text.utf8.prefix(Self.limit + 1).map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
        }

        mutating func window() throws(Flaw) -> Window {
            guard bytes.count <= Self.limit else {
                throw flaw("is too long: one window has at most 80 characters")
            }
            skipSpaces()
            let days = try days()
            guard skipSpaces() else { throw flaw("expected a space, then the times, such as 07:00-18:30") }
            let start = try time(upTo: 86_399)
            guard skip("-") else { throw flaw("expected '-' between start and end, such as 07:00-18:30") }
            let end = try time(upTo: 86_400)
            skipSpaces()
            guard position == bytes.count else {
                throw flaw("expected nothing more: write one window an entry")
            }
            return Window(days: days, start: start, end: end)
        }

        private mutating func days() throws(Flaw) -> Set<Int> {
            var days: Set<Int> = []
            repeat {
                let first = try day()
                days.insert(first)
                guard skip("-") else { continue }
                let last = try day()
                // `fri-mon` runs over the end of the week.
                for step in 0...(last - first + 7) % 7 { days.insert((first + step) % 7) }
            } while skip(",")
            return days
        }

        private mutating func day() throws(Flaw) -> Int {
            let word = bytes[position...].prefix { (0x61...0x7A).contains($0) }
            guard let day = Self.names.firstIndex(where: { $0.utf8.elementsEqual(word) }) else {
                throw flaw("expected a day: mon, tue, wed, thu, fri, sat or sun (mon-sun for every day)")
            }
            position += word.count
            return day
        }

        /// `HH:MM`, as seconds since midnight.
        private mutating func time(upTo limit: Int) throws(Flaw) -> Int {
            let start = position
            guard let hours = twoDigits(), skip(":"), let minutes = twoDigits(), minutes < 60 else {
                position = start
                throw flaw("expected a time from 00:00 to 24:00 with two digits each, such as 07:00")
            }
            let seconds = hours * 3600 + minutes * 60
            guard seconds <= limit else {
                position = start
                let last = limit < 86_400 ? "a window starts at 23:59 at the latest" : "a day ends at 24:00"
                throw flaw(last)
            }
            return seconds
        }

        private mutating func twoDigits() -> Int? {
            let digits = bytes[position...].prefix(2)
            guard digits.count == 2, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            position += 2
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }

        private mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        @discardableResult
        private mutating func skipSpaces() -> Bool {
            let start = position
            while skip(" ") || skip("\t") {}
            return position > start
        }

        private func flaw(_ advice: String) -> Flaw {
            Flaw(index: index, column: position + 1, advice: advice)
        }
    }
}
