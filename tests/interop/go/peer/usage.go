package peer

import (
	"testing"

	"github.com/wmnsk/go-pfcp/ie"
)

// Usage is one usage report as an SMF reads it; volumes in octets.
type Usage struct {
	Sequence                uint32
	Total, Uplink, Downlink uint64
	Immediate, Termination  bool
	VolumeThreshold         bool
	VolumeQuota, Periodic   bool
}

// OneUsage reads the only usage report of an answer, which must be of the session's URR.
func OneUsage(t *testing.T, reports []*ie.IE) Usage {
	t.Helper()
	Check(t, "number of usage reports", len(reports), 1)
	var usage Usage
	for _, part := range Must[[]*ie.IE](t)(reports[0].UsageReport()) {
		switch part.Type {
		case ie.URRID:
			Check(t, "URR ID", Must[uint32](t)(part.URRID()), SessionURR)
		case ie.URSEQN:
			usage.Sequence = Must[uint32](t)(part.URSEQN())
		case ie.UsageReportTrigger:
			octets := Must[[]byte](t)(part.UsageReportTrigger())
			usage.Periodic = octets[0]&0x01 != 0
			usage.VolumeThreshold = octets[0]&0x02 != 0
			usage.Immediate = octets[0]&0x80 != 0
			usage.VolumeQuota = len(octets) > 1 && octets[1]&0x01 != 0
			usage.Termination = len(octets) > 1 && octets[1]&0x08 != 0
		case ie.VolumeMeasurement:
			volume := Must[*ie.VolumeMeasurementFields](t)(part.VolumeMeasurement())
			usage.Total, usage.Uplink, usage.Downlink = volume.TotalVolume, volume.UplinkVolume, volume.DownlinkVolume
		}
	}
	t.Logf("    usage report %d: %d octets, up %d, down %d", usage.Sequence, usage.Total, usage.Uplink, usage.Downlink)
	return usage
}
