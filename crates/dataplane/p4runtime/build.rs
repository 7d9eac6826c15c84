//! Generates the client and the server of the P4Runtime service for the messages of `src/wire`.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let method = |name: &str, route: &str| {
        Method::builder()
            .name(name)
            .route_name(route)
            .input_type(format!("crate::wire::{route}Request"))
            .output_type(format!("crate::wire::{route}Response"))
            .codec_path("tonic_prost::ProstCodec")
    };
    let stream = method("stream_channel", "StreamChannel")
        .input_type("crate::wire::StreamMessageRequest")
        .output_type("crate::wire::StreamMessageResponse")
        .client_streaming()
        .server_streaming();
    let service = Service::builder()
        .name("P4Runtime")
        .package("p4.v1")
        .method(method("write", "Write").build())
        .method(method("read", "Read").server_streaming().build())
        .method(method("set_pipeline", "SetForwardingPipelineConfig").build())
        .method(method("pipeline", "GetForwardingPipelineConfig").build())
        .method(stream.build())
        .method(method("capabilities", "Capabilities").build())
        .build();
    Builder::new().compile(&[service]);
}
