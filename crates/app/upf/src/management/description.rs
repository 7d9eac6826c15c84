//! What the OpenAPI description says of access, which is the same for all operations.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, OpenApi, Ref, Response, ResponseBuilder};

/// The name of the token among the security schemes.
const TOKEN: &str = "token";

/// Adds the token and the refusals of access to each operation.
pub(super) fn with_access(mut api: OpenApi) -> OpenApi {
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
    let bearer = bearer
        .description(Some("The token of `upf.management.token_file`, where one is configured."))
        .build();
    let components = api.components.get_or_insert_with(Components::default);
    components.add_security_scheme(TOKEN, SecurityScheme::Http(bearer));
    api.security = Some(vec![SecurityRequirement::default(), SecurityRequirement::new(TOKEN, [""; 0])]);
    for item in api.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            let responses = &mut operation.responses.responses;
            let refusals = [
                ("401", "The token is missing or wrong"),
                ("403", "Not from there, or not under this name"),
                ("421", "TLS has changed since the connection was opened: connect again"),
            ];
            for (status, description) in refusals {
                responses.entry(status.into()).or_insert_with(|| problem(description).into());
            }
        }
    }
    api
}

fn problem(description: &str) -> Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("ProblemView"))).build();
    ResponseBuilder::new().description(description).content("application/problem+json", content).build()
}
