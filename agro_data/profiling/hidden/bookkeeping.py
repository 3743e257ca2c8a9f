"""Tables in which a framework keeps books of itself: which migrations ran, who is logged in, what jobs wait.

They lie among the tables of an application, and nobody asks how many schema migrations there are.
"""

from __future__ import annotations

import re

from agro_data.profiling.names.words import word_set
from agro_data.profiling.profile import TableProfile

# Of Django, Rails, Laravel, Alembic, Flyway, Liquibase, Prisma, Sequelize, Knex, Entity Framework, Goose, Doctrine,
# Phinx, Oban and PostGIS.
_NAMES = word_set(
    "django_migrations django_content_type django_session django_admin_log auth_permission auth_group_permissions "
    "auth_user_user_permissions schema_migrations ar_internal_metadata failed_jobs personal_access_tokens "
    "alembic_version flyway_schema_history databasechangelog databasechangeloglock _prisma_migrations sequelizemeta "
    "knex_migrations knex_migrations_lock __efmigrationshistory goose_db_version doctrine_migration_versions phinxlog "
    "delayed_jobs good_jobs oban_jobs spatial_ref_sys geometry_columns sysdiagrams"
)
_FAMILIES = re.compile(r"(?:active_storage|action_mailbox|solid_(?:queue|cache|cable)|django_celery_\w+)_\w+")
_COLUMNS = (word_set("migration batch"), word_set("item_type item_id event whodunnit"))  # of Laravel and PaperTrail


def keeps_books(table: TableProfile) -> bool:
    """Whether a framework makes the table for itself, told by its name or by columns that no other table has."""
    name = table.name.lower()
    columns = {column.name.lower() for column in table.columns}
    return name in _NAMES or _FAMILIES.fullmatch(name) is not None or any(own <= columns for own in _COLUMNS)
