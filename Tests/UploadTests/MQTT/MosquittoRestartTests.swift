import Glibc
import Linux
import Support
import Testing

@testable import Upload

@Suite("a broker that dies")
struct MosquittoRestartTests {
    /// Enough that it dies before, within and after each stage of a connection and a message.
    private static let deaths = 20

    @Test("twenty times: what was acknowledged has arrived, and what was not is known")
    func killed() throws {
        let seed = testSeed(20_261_122)
        var random = SeededGenerator(seed: seed)
        let broker = try Broker()
        var subscribers = [try Subscriber(broker)]
        var client = try mqttClient()
        let wakeup = try Wakeup()
        var (acknowledged, deaths) = (Set<String>(), 0)
        var number = 0
        while deaths < Self.deaths {
            number += 1
            let text = "message \(number)"
            // In the middle of this one, unless it has arrived by then.
            var stepsToLive: Int? = random.chance(0.5) ? Int.random(in: 0..<8, using: &random) : nil
            var outcome: MQTTOutcome?
            var tries = 0
            while outcome != puback(0), tries < 20 {
                tries += 1
                client.begin(publication(text), broker.options())
                outcome = nil
                while outcome == nil {
                    if stepsToLive == 0 {
                        broker.kill()
                        deaths += 1
                        stepsToLive = nil
                    }
                    stepsToLive = stepsToLive.map { $0 - 1 }
                    if case .ended(let end) = client.advance(wakeup: wakeup) { outcome = end }
                }
                guard case .failure(let failure) = outcome else { continue }
                #expect(!failure.isTimeout)
                #expect(try #require(subscribers.last).isOver())
                try broker.start()
                subscribers.append(try Subscriber(broker))
            }
            #expect(outcome == puback(0), "seed \(seed)")
            acknowledged.insert(text)
        }
        client.disconnect()
        broker.kill()
        #expect(subscribers.allSatisfy { $0.isOver() })
        let heard = subscribers.flatMap(\.heard).map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(acknowledged.subtracting(heard).isEmpty, "seed \(seed)")
        #expect(acknowledged.count == number)
    }
}
