import Base
import Testing

@testable import Upload

@Suite("what a broker's answers mean")
struct OwnTracksMQTTTests {
    private static let later = Verdict.transient(retryAfter: nil)

    @Test(
        "the table",
        arguments: [
            (.puback, .v5, 0, .accepted), (.puback, .v311, 0, .accepted), (.puback, .v5, 16, later),
            (.puback, .v5, 135, .unauthorised), (.puback, .v5, 128, .permanent),
            (.puback, .v5, 131, .permanent),
            (.puback, .v5, 144, .permanent), (.puback, .v5, 149, .permanent), (.puback, .v5, 151, .permanent),
            (.connack, .v5, 134, .unauthorised), (.connack, .v5, 135, .unauthorised),
            (.connack, .v5, 136, later), (.connack, .v5, 137, later), (.connack, .v5, 159, later),
            (.connack, .v5, 132, .permanent), (.connack, .v5, 133, .permanent),
            (.connack, .v5, 138, .permanent),
            (.connack, .v5, 156, .permanent), (.connack, .v5, 16, .permanent),
            (.connack, .v311, 1, .permanent),
            (.connack, .v311, 2, .permanent), (.connack, .v311, 3, later),
            (.connack, .v311, 4, .unauthorised),
            (.connack, .v311, 5, .unauthorised), (.disconnect, .v5, 0, later), (.disconnect, .v5, 139, later),
            (.disconnect, .v5, 142, later), (.disconnect, .v5, 149, .permanent),
            (.disconnect, .v5, 135, .unauthorised), (.client, .v5, 149, .permanent),
            (.client, .v5, 155, .permanent),
        ] as [(MQTTAnswer.Source, MQTTVersion, UInt8, Verdict)])
    func verdicts(source: MQTTAnswer.Source, version: MQTTVersion, code: UInt8, verdict: Verdict) {
        let answer = MQTTAnswer(source: source, code: code, version: version)
        let judgement = OwnTracksMQTT.judge(answer, acceptsUnsubscribed: false)
        #expect(judgement.verdict == verdict)
        #expect(judgement.status == Int(code) && judgement.size == .irrelevant && judgement.doubt == nil)
        #expect(!OwnTracksMQTT.words(answer).isEmpty)
    }

    @Test("nothing but an acknowledgement is acceptance", arguments: [false, true])
    func acceptance(acceptsUnsubscribed: Bool) {
        let sources: [MQTTAnswer.Source] = [.connack, .puback, .disconnect, .client]
        for source in sources {
            for version in [MQTTVersion.v5, .v311] {
                for code in UInt8.min...UInt8.max {
                    let answer = MQTTAnswer(source: source, code: code, version: version)
                    let judgement = OwnTracksMQTT.judge(answer, acceptsUnsubscribed: acceptsUnsubscribed)
                    let isAccepted = source == .puback && (code == 0 || code == 16 && acceptsUnsubscribed)
                    #expect((judgement.verdict == .accepted) == isAccepted)
                }
            }
        }
    }

    @Test(
        "advice names what to change",
        arguments: [
            (.puback, .v5, 16, "--clientid"), (.puback, .v5, 135, "access list"),
            (.puback, .v311, 0, "MQTT 5"),
            (.connack, .v5, 135, "password"), (.connack, .v311, 5, "password"),
            (.client, .v5, 149, "max_packet_size"),
            (.disconnect, .v5, 142, "same id"), (.connack, .v5, 157, "url"),
        ] as [(MQTTAnswer.Source, MQTTVersion, UInt8, String)])
    func advises(source: MQTTAnswer.Source, version: MQTTVersion, code: UInt8, word: String) {
        let answer = MQTTAnswer(source: source, code: code, version: version)
        #expect(OwnTracksMQTT.advice(answer)?.contains(word) == true)
    }

    @Test(
        "an answer in order needs no advice, unless the message was to come back",
        arguments: [(.unasked, false), (.received, false), (.missing, true), (.refused(135), true)]
            as [(MQTTAnswer.Echo, Bool)])
    func echo(echo: MQTTAnswer.Echo, isAdvised: Bool) {
        let answer = MQTTAnswer(source: .puback, code: 0, version: .v5, echo: echo)
        #expect((OwnTracksMQTT.advice(answer) != nil) == isAdvised)
    }

    @Test("the broker's reason is passed on")
    func reason() {
        let answer = MQTTAnswer(source: .puback, code: 151, version: .v5, reason: "ten a day")
        #expect(
            OwnTracksMQTT.words(answer) == "the broker refuses the message: quota exceeded (151): ten a day")
    }

    @Test("each destination has a client id of its own")
    func clientID() {
        #expect(OwnTracksMQTT.clientID(installID: "i", destination: "main") == "beekond-i")
        #expect(OwnTracksMQTT.clientID(installID: "i", destination: "home") == "beekond-i-home")
    }

    @Test("the last will")
    func will() {
        let will = OwnTracksMQTT.will(topic: "owntracks/u/d", at: Timestamp(milliseconds: 1_781_000_000_999))
        #expect(
            will
                == MQTTMessage(
                    topic: "owntracks/u/d", payload: Array(#"{"_type":"lwt","tst":1781000000}"#.utf8)))
    }
}
