// The page of /api/docs: Swagger UI on our own OpenAPI file. It asks no other host for anything.
window.SwaggerUIBundle({
  url: "/api/v1/schema",
  dom_id: "#api",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  validatorUrl: null,
});
