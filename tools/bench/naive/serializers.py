"""The document as nested serializers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tools.bench.naive.models import Checkpoint


class Step(serializers.Serializer[Any]):
    step_id = serializers.CharField()
    description = serializers.CharField(allow_null=True)
    output_reference = serializers.CharField(allow_null=True)
    completed_at = serializers.DateTimeField()


class StepInProgress(serializers.Serializer[Any]):
    step_id = serializers.CharField(allow_null=True)
    description = serializers.CharField(allow_null=True)
    partial_output = serializers.CharField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)


class Decision(serializers.Serializer[Any]):
    decision_id = serializers.CharField()
    question = serializers.CharField()
    options = serializers.ListField(child=serializers.CharField(), min_length=2)
    recommendation = serializers.CharField(allow_null=True)
    blocking = serializers.BooleanField()


class ToolOutput(serializers.Serializer[Any]):
    tool_name = serializers.CharField()
    call_id = serializers.CharField()
    result_summary = serializers.CharField()
    full_result_reference = serializers.CharField(allow_null=True)


class Context(serializers.Serializer[Any]):
    user_intent = serializers.CharField()
    key_facts = serializers.ListField(child=serializers.CharField())
    session_highlights = serializers.ListField(child=serializers.CharField())


class Target(serializers.Serializer[Any]):
    target_role = serializers.CharField()
    handoff_reason = serializers.CharField()
    expected_return = serializers.BooleanField()


class Recovery(serializers.Serializer[Any]):
    idempotency_key = serializers.CharField()
    rollback_notes = serializers.CharField()
    max_retries = serializers.IntegerField(min_value=0)


class CheckpointSerializer(serializers.ModelSerializer[Checkpoint]):
    completed_steps = Step(many=True)
    in_progress_step = StepInProgress(allow_null=True)
    pending_decisions = Decision(many=True)
    active_constraints = serializers.ListField(child=serializers.CharField())
    tool_outputs = ToolOutput(many=True)
    context_snapshot = Context()
    handoff_target = Target()
    recovery_instructions = Recovery()

    class Meta:
        model = Checkpoint
        exclude = ("owner",)

    def create(self, validated_data: dict[str, Any]) -> Checkpoint:
        return Checkpoint.objects.create(**validated_data)
