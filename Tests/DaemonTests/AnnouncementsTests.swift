import Base
import Linux
import Support
import Testing

@testable import Daemon
@testable import DaemonConfiguration
@testable import Storage

@Suite("what brokers retain for Home Assistant")
struct AnnouncementsTests {
    private static func announcement(
        _ url: String, of destination: String = "main", installID: String = "i", password: String? = nil
    ) -> Announcement {
        var made = Announcement(
            destination: destination, url: url, installID: installID, clientID: "c", topics: ["t"],
            version: "auto")
        made.password = password
        return made
    }

    private static func settings(_ urls: [String: String]) -> Settings {
        var settings = Settings()
        for (name, url) in urls.sorted(by: { $0.key < $1.key }) {
            var mqtt = Settings.MQTT()
            (mqtt.keepConnection, mqtt.homeAssistant) = (true, true)
            var sync = Settings.Sync()
            sync.url = url
            sync.format = .owntracks(.init(deviceID: "d", username: nil, password: nil, mqtt: mqtt))
            if name == "main" {
                settings.sync = sync
            } else {
                settings.destinations.append(.init(name: name, sync: sync))
            }
        }
        return settings
    }

    private let workshop: Workshop
    private var files: SmallFiles { workshop.hub.files }

    init() throws { workshop = try Workshop() }

    private func removal(
        _ announcements: Announcements, by name: String = "main", _ urls: [String: String],
        installID: String = "i", running: Set<String> = []
    ) -> String? {
        DestinationName(name).flatMap { name in
            announcements.removals(by: name, Self.settings(urls), installID: installID) {
                running.contains($0.text)
            }.first?.url
        }
    }

    @Test("what is noted and not configured any more is to be removed, also after a restart")
    func removals() throws {
        let announcements = Announcements(files)
        #expect(removal(announcements, [:]) == nil)
        #expect(try announcements.note(Self.announcement("mqtt://a")) == nil)
        #expect(removal(announcements, ["main": "mqtt://a"]) == nil)
        for again in [announcements, Announcements(files)] {
            #expect(removal(again, [:]) == "mqtt://a")
            #expect(removal(again, ["main": "mqtt://b"]) == "mqtt://a")
            #expect(removal(again, ["main": "mqtt://a"], installID: "other") == "mqtt://a")
            // The destination has another name: the topics are the same.
            #expect(removal(again, ["home": "mqtt://a"]) == nil)
        }
        try announcements.strike(Self.announcement("mqtt://a", password: "other"))
        #expect(removal(announcements, [:]) == nil)
        #expect(removal(Announcements(files), [:]) == nil)
        #expect(try !StateDirectory(workshop.state).names().contains { $0.hasPrefix("announcements") })
    }

    @Test("main removes what a destination has left that is gone, once that is not connected any more")
    func owners() throws {
        let announcements = Announcements(files)
        _ = try announcements.note(Self.announcement("mqtt://a", of: "home"))
        #expect(removal(announcements, by: "home", [:], running: ["home"]) == "mqtt://a")
        #expect(removal(announcements, [:], running: ["home"]) == nil)
        #expect(removal(announcements, by: "other", [:], running: ["other"]) == nil)
        #expect(removal(announcements, [:]) == "mqtt://a")
    }

    @Test("another login takes the place of the one before; nothing is written for what is known")
    func logins() throws {
        let announcements = Announcements(files)
        _ = try announcements.note(Self.announcement("mqtt://a", password: "1"))
        _ = try announcements.note(Self.announcement("mqtt://a", password: "2"))
        #expect(files.read([Announcement].self).content?.map(\.password) == ["2"])
        try files.write([Announcement]())
        _ = try announcements.note(Self.announcement("mqtt://a", password: "2"))
        #expect(files.read([Announcement].self).content == nil)
    }

    @Test("a login that was accepted stays until another is") func acceptedLogins() throws {
        let announcements = Announcements(files)
        let first = Self.announcement("mqtt://a", password: "1")
        var second = Self.announcement("mqtt://a", password: "2")
        second.topics = ["u"]
        _ = try announcements.note(first)
        try announcements.accept(first)
        _ = try announcements.note(second)
        #expect(files.read([Announcement].self).content?.map(\.password) == ["1"])
        #expect(files.read([Announcement].self).content?.map(\.topics) == [["t", "u"]])
        try announcements.accept(second)
        #expect(files.read([Announcement].self).content?.map(\.password) == ["2"])
        #expect(files.read([Announcement].self).content?.map(\.topics) == [["t", "u"]])
        // One that was never noted, or has been removed since, is not there by that.
        try announcements.accept(Self.announcement("mqtt://b"))
        #expect(files.read([Announcement].self).content?.map(\.url) == ["mqtt://a"])
    }

    @Test("there are at most 32")
    func bound() throws {
        let announcements = Announcements(files)
        for number in 0..<32 {
            #expect(try announcements.note(Self.announcement("mqtt://\(number)")) == nil)
        }
        #expect(try announcements.note(Self.announcement("mqtt://more"))?.url == "mqtt://0")
        #expect(files.read([Announcement].self).content?.count == 32)
    }
}
