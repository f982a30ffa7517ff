import Testing

@testable import EnvelopeReader

@Suite("envelopes with some of their rows") struct EnvelopeCutTests {
    private func cut(_ text: String, _ locations: [Bool], _ crossings: [Bool], _ events: [Bool] = [])
        -> String?
    {
        EnvelopeCut.cut(
            Array(text.utf8),
            to: EnvelopeCut.Rows(locations: locations, crossings: crossings, events: events)
        ).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("rows go, and everything else stays as it was sent") func rows() throws {
        let others = ["1", "2"].map { Samples.location.replacing("0d0e20", with: "0d0e2\($0)") }
        let more = #","unknown":[1,{"locations":[ ]}],"events":[ {"id":"x"} , {"id":"y"}]"#
        let text = Samples.envelope(locations: [Samples.location] + others, more: more)
        #expect(
            cut(text, [true, true, true], [true], [true, true])
                == text.replacing(#"[ {"id":"x"} , {"id":"y"}]"#, with: #"[{"id":"x"},{"id":"y"}]"#))
        #expect(
            cut(text, [false, true, false], [false], [false, true])
                == Samples.envelope(
                    locations: [others[0]], events: [],
                    more: more.replacing(#" {"id":"x"} , "#, with: "")))
        let rest = try Samples.read(try #require(cut(Samples.envelope(), [false], [true])))
        #expect(rest.locations.isEmpty && rest.events.count == 1)
    }

    @Test("names in escapes are the same names") func escapes() throws {
        let text = Samples.envelope().replacing(#""locations""#, with: #""\u006cocations""#)
        let rest = try Samples.read(try #require(cut(text, [false], [true])))
        #expect(rest.locations.isEmpty && rest.events.count == 1)
    }

    @Test("what is no envelope gives none", arguments: ["", "{", "[]", #"{"locations":5}"#])
    func none(_ text: String) {
        #expect(cut(text, [true], []) == nil)
    }
}
