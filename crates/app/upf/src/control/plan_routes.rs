//! Plans and their kernel routes: a plan with framed routes waits until these are written, and takes its own away again when it fails, or when it
//! removes a session.

use std::collections::BTreeMap;
use std::io;

use causeway_dataplane::Plan;
use causeway_n4::ApplyId;
use tokio::sync::oneshot;

use super::kernel_routes::{KernelRoutes, PoolsRefused, RouteResults};
use super::routes::FramedRoutes;
use crate::config::{Session, Upf};
use crate::open::AddressTranslation;

/// The routes of all plans and sessions, and the plans that wait for them.
pub(super) struct PlanRoutes {
    routes: FramedRoutes<ApplyId>,
    kernel: KernelRoutes<ApplyId>,
    /// Plans that wait for their kernel routes.
    awaiting_routes: BTreeMap<ApplyId, Plan>,
}

impl PlanRoutes {
    /// Starts the thread that writes routes. Returns its results, too.
    ///
    /// # Errors
    /// The system has no free thread.
    pub(super) fn start(
        upf: &Upf,
        translation: AddressTranslation,
    ) -> io::Result<(Self, RouteResults<ApplyId>)> {
        let routes = FramedRoutes::new(&upf.session);
        let (kernel, results) = KernelRoutes::start(upf, translation)?;
        Ok((Self { routes, kernel, awaiting_routes: BTreeMap::new() }, results))
    }

    /// A new plan. Returns it, unless it has to wait for kernel routes.
    pub(super) fn submit(&mut self, id: ApplyId, plan: Plan) -> Option<Plan> {
        let routes = self.routes.plan(id, &plan);
        if routes.is_empty() {
            return Some(plan);
        }
        self.awaiting_routes.insert(id, plan);
        self.kernel.announce(id, routes);
        None
    }

    /// The kernel has the routes of this plan, or refused them. Returns the plan, which waits no more.
    pub(super) fn written(&mut self, id: ApplyId) -> Option<Plan> {
        self.awaiting_routes.remove(&id)
    }

    /// The result of a plan.
    pub(super) fn applied(&mut self, id: ApplyId, is_applied: bool) {
        self.kernel.withdraw(self.routes.applied(&id, is_applied));
    }

    /// Later plans are compared with these pools. Routes stay.
    pub(super) fn set_pools<'a>(&mut self, pools: impl Iterator<Item = &'a Session>) {
        self.routes.set_pools(pools);
    }

    /// As [`KernelRoutes::set_pools`].
    pub(super) fn set_kernel_pools(&self, upf: &Upf) -> oneshot::Receiver<Result<(), PoolsRefused>> {
        self.kernel.set_pools(upf)
    }
}
