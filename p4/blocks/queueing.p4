// The queue of a packet, by the colour of its meter and the QFI of its QoS flow: 0 where no row says otherwise.

control Queueing(inout metadata_t meta TARGET_PARAMS) {
    action set_queue(queue_t queue) {
        QUEUE = queue;
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
    }
}

// Packets that have left by each queue, but for those to the control plane and the software UPF.
control QueueCounting(in queue_t queue) {
    @id(55)
    COUNTER(queue_packets, 32, queue_t)

    apply {
        COUNT(queue_packets, queue_t, queue)
    }
}
