import DaemonConfiguration
import Foundation
import Testing

@testable import Upload

/// beekond.toml(5), section COMMANDS.
@Suite("what the manual says of commands")
struct CommandManualTests {
    private static let root = #filePath.components(separatedBy: "/Tests/UploadTests/").first ?? ""
    private static let page = try? String(contentsOfFile: root + "/etc/man/beekond.toml.5", encoding: .utf8)

    private func part(_ heading: String) throws -> [Substring] {
        let page = try #require(Self.page)
        let section = try #require(page.components(separatedBy: "\n.Sh COMMANDS\n").last)
            .components(separatedBy: "\n.Sh ")[0]
        let part = try #require(section.components(separatedBy: "\n.Ss \(heading)\n").dropFirst().first)
        return part.components(separatedBy: "\n.Ss ")[0].split(separator: "\n")
    }

    private func items(_ heading: String) throws -> [String] {
        try part(heading).filter { $0.hasPrefix(".It Li ") }.map { String($0.dropFirst(".It Li ".count)) }
    }

    @Test("every command, error and reason is explained, and no other")
    func names() throws {
        #expect(try items("What a server sends") == Settings.Commands.Name.allCases.map(\.rawValue))
        #expect(try items("What it gets") == CommandError.Kind.allCases.map(\.rawValue))
        #expect(try items("In the log") == CommandListRefusal.Kind.allCases.map(\.rawValue))
    }

    @Test("the guide's commands and settings are translated as the tables say")
    func guide() throws {
        let items = try items("Transistorsoft's form")
        let commands = items.map { $0.components(separatedBy: " Ta ") }.filter { $0.count == 2 }
        #expect(commands.map { $0[0] } == GuideCommand.allCases.map(\.rawValue))
        for row in commands {
            let argument =
                switch row[0] {
                case "changePace": ",true"
                case "setConfig": #",{"distanceFilter":1}"#
                case "addGeofence": #",{"identifier":"a","latitude":1,"longitude":2,"radius":9}"#
                case "addGeofences": #",[{"identifier":"a","latitude":1,"longitude":2,"radius":9}]"#
                case "removeGeofence": #","a""#
                case "removeGeofences": #",["a"]"#
                default: ""
                }
            let heard = try CommandSamples.commands(
                #"{"background_geolocation":["\#(row[0])"\#(argument)]}"#)
            let own = heard.commands[0].request?.name.rawValue
            #expect(row[1] == "refused" ? own == nil : row[1].hasPrefix("Li \(own ?? "?")"), "\(row)")
        }
        #expect(items.filter { !$0.contains(" Ta ") } == GuideSettings.rows.map(\.name))
        let text = try part("Transistorsoft's form").joined(separator: "\n")
        for row in GuideSettings.rows {
            #expect(text.contains(".It Li \(row.name)\n.Cm \(row.setting)\n.Pq \(row.unit)\n"))
        }
        #expect(text.contains(".Pq Li " + GuideSettings.groups.joined(separator: " , ")))
    }

    @Test("its examples are heard")
    func examples() throws {
        for heading in ["What a server sends", "Transistorsoft's form"] {
            let block = try part(heading).joined(separator: "\n").components(
                separatedBy: ".Bd -literal -offset indent\n")[1].components(separatedBy: "\n.Ed")[0]
            for example in block.replacing("\n  ", with: "").split(separator: "\n") {
                _ = try CommandSamples.commands(String(example))
            }
        }
        let text = try part("What a server sends").joined(separator: " ")
        #expect(text.contains("\(CommandReader.depthLimit) levels"))
        #expect(text.contains("more than \(CommandIntake.hourlyLimit) within an hour"))
        #expect(text.contains("A destination of another name knows none of them"))
    }
}
