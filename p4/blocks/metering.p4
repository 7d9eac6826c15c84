// QER enforcement by trTCM meters (RFC 2698): PIR is the MBR, CIR the GBR. Green and yellow go on, to queues by colour; red is
// dropped. A rule without MBR has meter 0, which is not asked.

control Metering(inout metadata_t meta) {
    @id(50)
    METER(rule_meters, SIZE_METERS)

    apply {
        if (meta.meter != 0) {
            METER_EXECUTE(rule_meters, meta.meter, meta.color)
            if (meta.color == METER_RED) {
                meta.drop_reason = DropReason.MBR_EXCEEDED;
            }
        }
    }
}
