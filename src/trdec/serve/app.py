"""The addresses of the server, and what is answered there."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from trdec import __version__
from trdec.errors import TrdecError
from trdec.serve.description import (
    DetectedLanguage,
    FrontendSettings,
    HealthAnswer,
    LanguageAnswer,
    LibreAnswer,
    ModelsAnswer,
    TreeAnswer,
    answering,
    described,
    documentation_page,
    openapi,
)
from trdec.serve.guard import Guard
from trdec.serve.languages import Detected
from trdec.serve.observation import ServerMetrics
from trdec.serve.page_files import PageFiles
from trdec.serve.requests import (
    JSON_TYPE,
    DetectRequest,
    LibreRequest,
    Refusal,
    RequestBody,
    TreeRequest,
    read_request,
    texts_of,
)
from trdec.serve.service import TranslationService
from trdec.serve.settings import KeyRing, ServerSettings
from trdec.serve.texts import Translated, check_size, translate_plainly, translate_with_trees


def make_app(settings: ServerSettings, failed: Callable[[TrdecError], None]) -> tuple[ASGIApp, TranslationService]:
    """The server as an ASGI application; `failed` is called if a model cannot be served."""
    metrics = ServerMetrics()
    service = TranslationService(settings, metrics)
    keys = None if settings.keys is None else KeyRing(settings.keys)
    page = PageFiles()

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start(failed)
        yield
        await service.stop()

    app = FastAPI(
        title="trdec", version=__version__, openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan
    )

    def check_key(request: Request, given: str | None) -> None:
        if keys is None:
            return
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        key = given or (bearer.strip() if scheme.lower() == "bearer" else "")
        if key not in keys:
            raise Refusal(403, "expected a valid API key in api_key.", "api_key")

    async def read(request: Request, kind: type[RequestBody]) -> RequestBody:
        form = kind is not TreeRequest and request.headers.get("content-type", "")
        found = read_request(kind, form or JSON_TYPE, await request.body())
        check_key(request, found.api_key)
        service.check_loaded()
        return found

    @app.exception_handler(Refusal)
    async def refused(_: Request, error: Refusal) -> Response:
        headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
        content = {"error": str(error)} | ({} if error.field is None else {"field": error.field})
        return JSONResponse(content, error.status, headers)

    @app.exception_handler(HTTPException)
    async def not_found(_: Request, error: HTTPException) -> Response:
        message = "there is nothing at this address." if error.status_code == 404 else f"{error.detail}."
        return JSONResponse({"error": message}, error.status_code, error.headers)

    @app.post("/translate", **described(LibreRequest, LibreAnswer, "Translate texts, as LibreTranslate does."))
    async def translate(request: Request) -> Response:
        body = await read(request, LibreRequest)
        return JSONResponse(_libre_answer(body, await translate_plainly(service, body)))

    @app.post("/detect", **described(DetectRequest, list[DetectedLanguage], "Say which language a text is in."))
    async def detect(request: Request) -> Response:
        texts = texts_of((await read(request, DetectRequest)).q, "q")
        check_size(texts, settings.limits, "q")
        return JSONResponse([_detected_json(each) for each in service.detect("\n".join(texts))])

    @app.get("/languages", **answering(list[LanguageAnswer], "The languages, each with those it is translated into."))
    async def languages() -> Response:
        service.check_loaded()
        return JSONResponse(service.languages())

    @app.post("/v1/translate", **described(TreeRequest, TreeAnswer, "Translate texts together with their trees."))
    async def translate_trees(request: Request) -> Response:
        return Response(await translate_with_trees(service, await read(request, TreeRequest)), media_type=JSON_TYPE)

    @app.get("/v1/models", **answering(ModelsAnswer, "The models and their languages."))
    async def models() -> Response:
        service.check_loaded()
        return JSONResponse({"models": [_model_json(service, name) for name in service.models]})

    @app.get("/health", **answering(HealthAnswer, "Whether the models are ready."))
    async def health() -> Response:
        if service.problem is not None:
            raise Refusal(503, service.problem, retry_after=2)
        return JSONResponse({"status": "ok"})

    @app.get("/frontend/settings", **answering(FrontendSettings, "What LibreTranslate's pages ask for."))
    async def frontend_settings() -> Response:
        service.check_loaded()
        return JSONResponse(_frontend(service))

    @app.get("/metrics", summary="Figures for Prometheus.", response_class=Response)
    async def figures() -> Response:
        service.observe()
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/spec", summary="This description, in OpenAPI.")
    async def spec() -> Response:
        return JSONResponse(app.openapi())

    @app.get("/docs", summary="This description, for people.", response_class=HTMLResponse)
    async def docs() -> Response:
        return HTMLResponse(documentation_page(app.openapi()))

    @app.get("/{name:path}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        return page.answer(name or "index.html", request)

    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]

    def for_other_sites(inner: ASGIApp) -> ASGIApp:
        return CORSMiddleware(
            inner,
            allow_origins=settings.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID"],
            expose_headers=["Retry-After", "X-Request-ID"],
        )

    paths = [getattr(route, "path", "") for route in app.routes] + ["/", *(f"/{name}" for name in page.names)]
    return Guard(app, settings.limits, metrics, paths, for_other_sites if settings.origins else None), service


def _libre_answer(request: LibreRequest, found: list[Translated]) -> dict[str, Any]:
    answer: dict[str, Any] = {"translatedText": [each.text for each in found]}
    if request.alternatives:
        answer["alternatives"] = [list(each.alternatives) for each in found]
    if any(each.detected for each in found):
        answer["detectedLanguage"] = [_detected_json(each.detected) for each in found if each.detected]
    return answer if isinstance(request.q, list) else {name: value[0] for name, value in answer.items()}


def _detected_json(found: Detected) -> dict[str, Any]:
    return {"confidence": found.confidence, "language": found.language}


def _model_json(service: TranslationService, name: str) -> dict[str, Any]:
    model = service.models[name]
    return {
        "name": name,
        "source": _language_json(service, model.languages.source),
        "target": _language_json(service, model.languages.target),
        "system": model.description.system,
        "trees": model.description.trees,
        "beam_size": service.beam_size(model),
    }


def _language_json(service: TranslationService, code: str) -> dict[str, str]:
    return {"code": code, "name": service.language_name(code)}


def _frontend(service: TranslationService) -> dict[str, Any]:
    first = next(iter(service.models.values())).languages
    needed = service.settings.keys is not None
    return {
        "apiKeys": needed,
        "charLimit": service.settings.limits.characters,
        "filesTranslation": False,
        "frontendTimeout": 500,
        "keyRequired": needed,
        "language": {"source": _language_json(service, first.source), "target": _language_json(service, first.target)},
        "suggestions": False,
        "supportedFilesFormat": [],
    }
