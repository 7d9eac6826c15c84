//! Successive controllers of one switch.

use causeway_model::{PlanOptions, plan_modification};
use causeway_p4::Contract;
use causeway_slowpath::Limits;
use causeway_types::{Seid, Span, UrrId};

use super::fixture::topology;
use super::storm::Storm;
use super::witness::Witness;
use crate::backend::Switch;
use crate::backend::local_model::parts;
use crate::driver::{FaultRates, Link, Program};

/// A controller, and a switch with these fault rates.
pub(super) fn begin(contract: &Contract, chances: FaultRates, seed: u64) -> Switch<Witness> {
    let (model, program, config) = parts(&Program::from(contract), topology(), Limits::default()).unwrap();
    let driver = Witness::new(model, chances, Span::from_millis(3), seed);
    // A change is abandoned soon, so that some are refused.
    let (retry, drop_read_interval) = (Span::from_micros(10), Some(Span::from_millis(5)));
    let config = crate::backend::Config { attempts: 2, retry, drop_read_interval, ..config };
    Switch::new(driver, &program, config).unwrap()
}

impl Storm {
    /// Another controller takes over a running switch, without earlier state.
    pub(super) fn succeed(&mut self) {
        self.switch.driver().faulty().set_chances(FaultRates::default());
        for (place, rules) in self.sessions.clone().into_iter().enumerate() {
            let Some(rules) = rules else { continue };
            // State that only the controller has would be lost with it.
            let extras = PlanOptions { queries: [UrrId(1)].into(), ..PlanOptions::default() };
            let plan = plan_modification(Seid(place as u64 + 1), &rules, &rules, &extras);
            let applied = self.apply(&plan).unwrap();
            self.count(&applied.usage);
        }
        self.collect();
        let contract = self.contract;
        let mut next = begin(contract, FaultRates::default(), self.seed);
        std::mem::swap(next.driver(), self.switch.driver());
        assert_eq!(self.switch.statistics().lost_counters, 0, "seed {}", self.seed);
        self.switch = next;
        self.switch.driver().forget();
        self.switch.handle_link(self.now, Link::Up { emptied: false });
        self.sessions.fill(None);
        self.done.successions += 1;
        self.check();
    }
}
