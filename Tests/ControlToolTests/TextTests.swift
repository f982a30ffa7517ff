import Testing

@testable import ControlTool

@Suite("text for a terminal")
struct TextTests {
    @Test(
        "nothing from outside steers the terminal",
        arguments: [
            ("plain é 你好 👍🏽", "plain é 你好 👍🏽"), ("\u{1B}[31mred", "\\u{1b}[31mred"),
            ("a\nb\r\tc", "a\\u{a}b\\u{d}\\u{9}c"), ("\u{9B}2J", "\\u{9b}2J"), ("\u{7F}", "\\u{7f}"),
            ("abc\u{202E}fed", "abc\\u{202e}fed"), ("\u{2028}", "\\u{2028}"), ("\r\n", "\\u{d}\\u{a}"),
        ])
    func safe(text: String, expected: String) {
        #expect(Text.safe(text) == expected)
    }

    @Test("truncating, padding and wrapping")
    func layout() {
        #expect(Text.cut("abcdef", to: 6) == "abcdef")
        #expect(Text.cut("abcdefg", to: 6) == "abcde…")
        #expect(Text.left("ab", 4) + "|" == "ab  |")
        #expect(Text.right("ab", 4) == "  ab")
        #expect(Text.right("abcdef", 4) == "abcdef")
        #expect(Text.wrap("one two three four", width: 9) == ["one two", "three", "four"])
        #expect(Text.wrap("averyverylongword x", width: 5) == ["avery", "veryl", "ongwo", "rd x"])
        #expect(Text.wrap("到着地点の名前", width: 5) == ["到着", "地点", "の名", "前"])
        #expect(Text.cut("到着地点", to: 8) == "到着地点")
        #expect(Text.cut("到着地点", to: 7) == "到着地…")
        #expect(Text.cut("到着地点", to: nil) == "到着地点")
        #expect(Text.cutFront("/dev/serial/by-id/usb-x", to: 9) == "…id/usb-x")
        #expect(Text.left("到", 4) + "|" == "到  |")
        #expect(Text.fitted("abcdef", 4) + Text.fitted("e\u{301}", 3) + "|" == "abc…e\u{301}  |")
        #expect(Text.wrap("", width: 5).isEmpty)
    }

    @Test(
        "colours only where they are wanted",
        arguments: [
            (true, [:], true), (false, [:], false), (true, ["NO_COLOR": "1"], false),
            (true, ["NO_COLOR": ""], true), (true, ["TERM": "dumb"], false),
            (true, ["TERM": "xterm"], true),
        ] as [(Bool, [String: String], Bool)])
    func colours(isTerminal: Bool, environment: [String: String], expected: Bool) {
        #expect(Palette.wanted(isTerminal: isTerminal, environment: environment) == expected)
        #expect(Palette(enabled: false).bad("x") == "x")
        #expect(Palette(enabled: true).bad("x") == "\u{1B}[1;31mx\u{1B}[0m")
    }

    @Test("numbers for people")
    func quantities() {
        #expect(Quantity.fixed(37.7749, 6) == "37.774900")
        #expect(Quantity.fixed(-0.05, 1) == "-0.1")
        #expect(Quantity.fixed(-0.04, 1) == "0.0")
        #expect(Quantity.fixed(180, 0) == "180")
        #expect(Quantity.fixed(1e300, 1) == "1e+300")
        #expect(Quantity.count(0) == "0")
        #expect(Quantity.count(999) == "999")
        #expect(Quantity.count(-1_234_567) == "-1,234,567")
        #expect(Quantity.distance(meters: 999.4) == "999 m")
        #expect(Quantity.distance(meters: 12_345) == "12.3 km")
        #expect(Quantity.distance(meters: 1_234_567) == "1235 km")
        #expect(Quantity.bytes(999) == "999 B")
        #expect(Quantity.bytes(1_234_567) == "1.2 MB")
        #expect(Quantity.bytes(.max) == "9223372.0 TB")
        #expect(
            [0, 59, 200, 3000, 3660, 100_000, -5].map(Quantity.duration(seconds:))
                == ["0 s", "59 s", "3 min 20 s", "50 min", "1 h 01 min", "1 d 3 h", "0 s"])
        #expect(Quantity.duration(seconds: 86_400 * 20_412) == "20,412 d")
        #expect(Quantity.duration(seconds: .max).count < 24)
        #expect(
            [5.25, 12_345.6, 123_456.7, 1.5e10, -1e300].map { Quantity.fitting($0, 1, 6) }
                == ["5.3", "12346", "123457", "2e10", "-1e300"])
        #expect(
            [999_999, 1_234_567, 12_345_678_901, Int.max].map(Quantity.short) == [
                "999999", "1.2M", "12.3G", "9e18",
            ])
        #expect([180, 0.1, -0.0, 5e-7].map(Quantity.exact) == ["180", "0.1", "0", "5e-07"])
    }

    @Test("JSON for a terminal has no control characters but the same meaning")
    func json() throws {
        #expect(try JSONLine.encode(["b": "\u{9B}\u{1B}/é", "a": "x"]) == #"{"a":"x","b":"\u009b\u001b/é"}"#)
    }

    @Test("usage has names above their meanings where both have no room in a line")
    func usage() {
        let text = """
            OPTIONS:
              --json                  Print JSON instead of text, for programs.
              --destination <destination>
                                      Only this destination.

              beekonctl history --last 2h
            """
        #expect(
            UsageText.narrow(text, width: 30) == [
                "OPTIONS:", "  --json", "      Print JSON instead of", "      text, for programs.",
                "  --destination <destination>", "      Only this destination.", "",
                "  beekonctl history --last 2h",
            ])
    }
}
