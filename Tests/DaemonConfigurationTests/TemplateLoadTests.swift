import Envelope
import Support
import Testing

@testable import DaemonConfiguration

/// Every template is held against the grammar where it is written: in a file, and by `config set`.
@Suite("templates of the configuration") struct TemplateLoadTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let template: BrokenTemplates.Marked
        var testDescription: String { String(template.marked.prefix(60)) }
    }

    /// A basic string of TOML that is this text.
    private static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar in
            let digits = String(scalar.value, radix: 16)
            return scalar.isASCII && scalar.value >= 0x20 && scalar != "\"" && scalar != "\\"
                ? String(Character(scalar))
                : "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
        }
        return "\"" + scalars.joined() + "\""
    }

    private static let table = "[sync]\nurl = \"https://a.example/\"\nformat = \"template\"\n"

    @Test(
        "a broken one is an error with its line, and the place in it",
        arguments: BrokenTemplates.all.map(Row.init))
    func broken(row: Row) throws {
        let (template, place) = (row.template, row.template.place)
        let start = "line \(place.line), column \(place.column) of the template: "
        // To set nothing is to take the usual record.
        guard !template.text.isEmpty else { return }
        let workshop = try Workshop()
        for name in ["location_template", "geofence_template"] {
            // Of geofence events more is known.
            if name == "geofence_template", template.reason.contains("geofence events only") { continue }
            let problems = workshop.problems(Self.table + "\(name) = \(Self.quoted(template.text))\n")
            let problem = try #require(problems.first)
            #expect(problems.count == 1 && problem.line == 4 && problem.key == "sync." + name)
            #expect(problem.message.hasPrefix(start) && problem.message.contains(template.reason))
        }
        try workshop.write(Self.table)
        let layers = try Loader.layers(file: workshop.file, isDefaultPath: false, places: workshop.places)
        let refusal = #expect(throws: Layers.Refusal.self) {
            try layers.decide(
                setting: ["sync.location_template": .value(.string(template.text))], over: [:])
        }
        #expect(refusal?.key == "sync.location_template")
        #expect(refusal?.reason.hasPrefix(start) == true && refusal?.isDenied == false)
    }

    @Test("one that was set by an earlier version, and is none any more, is left out")
    func leftOut() throws {
        let workshop = try Workshop()
        try workshop.write(Self.table)
        let layers = try Loader.layers(file: workshop.file, isDefaultPath: false, places: workshop.places)
        let result = layers.loaded(with: ["sync.location_template": .string("{")])
        #expect(
            result.leftOut["sync.location_template"]?.hasPrefix("line 1, column 2 of the template: ") == true)
        guard case .template(let own)? = result.loaded.settings.sync?.format else {
            return #expect(Bool(false))
        }
        #expect(own.shape.location.source == Template.Kind.location.guideText)
    }

    @Test("settings that exclude each other only with one made while running")
    func together() throws {
        let workshop = try Workshop()
        let text = Self.table + "batch_size = 1\nroot_property = \".\"\nparams = { a = 1 }\n"
        try workshop.write(text)
        let layers = try Loader.layers(file: workshop.file, isDefaultPath: false, places: workshop.places)
        for (name, value) in [
            ("sync.batch_size", SettingValue.integer(2)), ("sync.location_template", .string("{\"a\": 1}")),
        ] {
            let refusal = #expect(throws: Layers.Refusal.self) {
                try layers.decide(setting: [name: .value(value)], over: [:])
            }
            #expect(refusal?.key == name && refusal?.reason.contains("sync.params.a") == true)
        }
        #expect(throws: Never.self) {
            try layers.decide(setting: ["sync.extras_in": .value(.string("root"))], over: [:])
        }
    }

    @Test("neither errors nor dumps show the value of a field")
    func secret() throws {
        let workshop = try Workshop()
        let loaded = try workshop.load(Self.table + "params = { token = \"hunter2\" }\n")
        var shown = "\(loaded.settings)"
        dump(loaded, to: &shown)
        #expect(!shown.contains("hunter2"))
        let wrong = Self.table + "root_property = \".\"\nparams = { token = \"hunter2\" }\n"
        #expect(!"\(workshop.problems(wrong))".contains("hunter2"))
    }
}
