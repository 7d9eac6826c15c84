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

#ifdef SIZE_BESIDE
    // A table of its own, so that it can stand where no block is that the counters of rules could have.
    @hidden
    action count_queue() {
        COUNT(queue_packets, queue_t, queue)
    }

    @hidden
    PLACE_QUEUES
    table queue_counting {
        actions = { count_queue; }
        const default_action = count_queue();
        size = 1;
    }

    apply {
        queue_counting.apply();
    }
#else
    apply {
        COUNT(queue_packets, queue_t, queue)
    }
#endif
}
