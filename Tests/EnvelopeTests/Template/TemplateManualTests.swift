import Foundation
import Testing

@testable import Envelope

@Suite("what the manual says of templates")
struct TemplateManualTests {
    private static let root = #filePath.components(separatedBy: "/Tests/EnvelopeTests/").first ?? ""
    private static let manual = try? String(contentsOfFile: root + "/docs/templates.md", encoding: .utf8)
    /// beekond.toml(5).
    private static let page = try? String(contentsOfFile: root + "/etc/man/beekond.toml.5", encoding: .utf8)

    @Test("the default records stand there as they are", arguments: [Template.Kind.location, .geofence])
    func records(kind: Template.Kind) throws {
        let manual = try #require(Self.manual)
        #expect(manual.contains("```json\n\(kind.guideText)\n```"))
        let page = try #require(Self.page)
        #expect(page.contains(".Bd -literal -offset indent\n\(kind.guideText)\n.Ed\n"))
        _ = try Template(kind.guideText, for: kind)
    }

    @Test("every tag is explained, and no other")
    func tags() throws {
        let manual = try #require(Self.manual)
        let rows = manual.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let names = rows.flatMap { row in
            row.dropFirst(2).prefix { $0 != "|" }.split(separator: ",").map {
                $0.trimmingCharacters(in: CharacterSet(charactersIn: "` "))
            }
        }
        #expect(names == TemplateTag.allCases.map(\.rawValue))
        let page = try #require(Self.page?.split(separator: ".Sh TEMPLATES\n").last)
        let items = page.split(separator: "\n").filter { $0.hasPrefix(".It Li ") }
            .flatMap { $0.dropFirst(".It Li ".count).split(separator: " , ") }.map(String.init)
        #expect(items == names)
    }

    @Test("its example sends what it says")
    func example() throws {
        let manual = try #require(Self.manual)
        let lines = manual.split(separator: "\n").map(String.init)
        let line = try #require(lines.first { $0.hasPrefix("location_template = ") })
        let template = line.dropFirst("location_template = ".count).trimmingCharacters(in: ["'"])
        let shape = try TemplateSamples.shape(
            template, rootProperty: "data", params: ["tenant": .text("north")], extras: .root, batchSize: 50)
        var sent = try TemplateSamples.body(
            shape, [TemplateRecord(TemplateSamples.location())], extras: #"{"driver":"7"}"#)
        sent = sent.replacing("37.7749", with: "52.517").replacing("-122.4194", with: "13.3889")
        #expect(lines.contains(sent))
    }

    @Test("the limits it names are those that hold")
    func limits() throws {
        let manual = try #require(Self.manual).replacing("\n", with: " ")
        #expect(
            manual.contains(
                "\(Template.sizeLimit) bytes, \(Template.depthLimit) levels and \(Template.tagLimit) tags"))
        #expect(
            try #require(Self.page).contains(
                "in at most \(Template.sizeLimit) bytes, \(Template.depthLimit) levels and \(Template.tagLimit) tags."
            ))
    }
}
