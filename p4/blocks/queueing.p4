// The queue of a packet, by the colour of its meter and the QFI of its QoS flow: 0 where no row says otherwise.

control Queueing(inout metadata_t meta) {
    @id(55)
    COUNTER(queue_packets, 32, queue_t)

    action set_queue(queue_t queue) {
        meta.queue = queue;
    }

    @id(56)
    table queue_assignment {
        key = {
            meta.color : exact @name("color");
            meta.qfi_out : exact @name("qfi");
        }
        actions = { set_queue; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_QUEUES;
    }

    apply {
        queue_assignment.apply();
        COUNT(queue_packets, queue_t, meta.queue)
    }
}
