//! What a switch has counted: on the model and on BMv2, which must agree.

use causeway_switch::Count;
use causeway_switch::driver::EntryKey;

use crate::bench::Bench;
use crate::bmv2::Bmv2;

impl Bench {
    /// Packets dropped so far by reason.
    pub(crate) fn drops(&mut self) -> Vec<(&'static str, u64)> {
        let reasons = self.profile.drop_reasons();
        let model = self.model.as_ref().map(|model| model.drops(reasons));
        let bmv2 = self.bmv2.as_ref().map(Bmv2::drops);
        if let (Some(model), Some(bmv2)) = (&model, &bmv2) {
            assert_eq!(bmv2, model, "{}: drops of BMv2, and of the model", self.profile.name);
        }
        model.or(bmv2).unwrap_or_default()
    }

    /// Packets of a counter by index.
    pub(crate) fn packets(&mut self, counter: &str, index: u32) -> u64 {
        self.indexed(counter, index).packets
    }

    pub(crate) fn indexed(&mut self, counter: &str, index: u32) -> Count {
        let model = self.model.as_ref().map(|model| model.indexed(counter, index));
        let bmv2 = self.bmv2.as_mut().map(|bmv2| bmv2.runtime.indexed(counter, &[index]).remove(0));
        self.equal(model, bmv2, counter)
    }

    /// What an entry has counted before QoS enforcement.
    pub(crate) fn direct(&mut self, key: &EntryKey) -> Count {
        let model = self.model.as_ref().map(|model| model.direct(key));
        let bmv2 = self.bmv2.as_mut().map(|bmv2| bmv2.runtime.direct(key));
        self.equal(model, bmv2, "an entry's counter")
    }

    /// What an entry has counted after QoS enforcement, where `before` is what was counted before it.
    pub(crate) fn direct_after(&mut self, key: &EntryKey, before: Count) -> Count {
        let model = self.model.as_ref().map(|model| model.direct(key));
        let bmv2 = self.bmv2.as_mut().map(|bmv2| bmv2.runtime.direct(key));
        self.after(model, bmv2, before, "an entry's counter after QoS enforcement")
    }

    /// The same of a counter by index.
    pub(crate) fn indexed_after(&mut self, counter: &str, index: u32, before: Count) -> Count {
        let model = self.model.as_ref().map(|model| model.indexed(counter, index));
        let bmv2 = self.bmv2.as_mut().map(|bmv2| bmv2.runtime.indexed(counter, &[index]).remove(0));
        self.after(model, bmv2, before, counter)
    }

    /// Octets after QoS enforcement are BMv2's own: it always counts those of the frame as it came. So they are those of the other side
    /// where all packets have passed, and the model's are what a switch counts.
    fn after(&self, model: Option<Count>, bmv2: Option<Count>, before: Count, what: &str) -> Count {
        let Some(bmv2) = bmv2 else { return model.unwrap_or_default() };
        if bmv2.packets == before.packets {
            assert_eq!(bmv2, before, "{}: {what} of BMv2, and before QoS enforcement", self.profile.name);
        }
        let packets = |count: Count| Count { octets: 0, ..count };
        self.equal(model.map(packets), Some(packets(bmv2)), what);
        model.unwrap_or(bmv2)
    }

    /// An entry's counter after QoS enforcement has the same packets everywhere.
    pub(crate) fn same_packets(&mut self, key: &EntryKey) {
        let model = self.model.as_ref().map(|model| model.direct(key).packets);
        let bmv2 = self.bmv2.as_mut().map(|bmv2| bmv2.runtime.direct(key).packets);
        assert_eq!(bmv2, model, "{}: packets of an entry on BMv2, and on the model", self.profile.name);
    }

    fn equal(&self, model: Option<Count>, bmv2: Option<Count>, what: &str) -> Count {
        if let (Some(model), Some(bmv2)) = (model, bmv2) {
            assert_eq!(bmv2, model, "{}: {what} of BMv2, and of the model", self.profile.name);
        }
        model.or(bmv2).unwrap_or_default()
    }
}
