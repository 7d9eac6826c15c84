//! Sets and returns the program of the switch.

use tonic::{Code, Status};

use super::device::Device;
use crate::convert::Refusal;
use crate::wire::{
    ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, PipelineAction, ResponseKind,
    SetForwardingPipelineConfigRequest,
};

impl Device {
    /// Verifies or sets a program.
    pub(super) fn set_pipeline(&mut self, request: SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.check_primary(request.device_id, &request.role, request.election_id)?;
        let config = request.config.ok_or_else(|| Refusal::invalid("there is no configuration"));
        match PipelineAction::try_from(request.action) {
            Ok(PipelineAction::Verify) => self.verify(&config?).map(|_| ())?,
            Ok(PipelineAction::VerifyAndCommit) => self.commit(config?)?,
            Ok(PipelineAction::Commit) if config.is_ok() => {
                return Err(Status::invalid_argument("a commit has no configuration of its own"));
            }
            Ok(PipelineAction::Commit) => {
                return Err(Status::not_found("no configuration was saved"));
            }
            Ok(action @ (PipelineAction::VerifyAndSave | PipelineAction::ReconcileAndCommit)) => {
                let what = format!("{action:?}: a program takes effect immediately, with empty tables");
                return Err(Status::unimplemented(what));
            }
            Ok(PipelineAction::Unspecified) | Err(_) => {
                return Err(Status::invalid_argument(format!("action {}", request.action)));
            }
        }
        Ok(())
    }

    /// The configuration; `None` if none was set.
    pub(super) fn pipeline(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<Option<ForwardingPipelineConfig>, Refusal> {
        self.check_device(request.device_id)?;
        let kind = ResponseKind::try_from(request.response_type).map_err(|_| {
            Refusal::new(Code::InvalidArgument, format!("response of type {}", request.response_type))
        })?;
        let has_info = matches!(kind, ResponseKind::All | ResponseKind::P4InfoAndCookie);
        let has_device_config = matches!(kind, ResponseKind::All | ResponseKind::DeviceConfigAndCookie);
        Ok(self.running.as_ref().map(|running| {
            let ForwardingPipelineConfig { p4info, device_config, cookie } = &running.config;
            ForwardingPipelineConfig {
                p4info: p4info.clone().filter(|_| has_info),
                device_config: if has_device_config { device_config.clone() } else { Vec::new() },
                cookie: *cookie,
            }
        }))
    }
}
