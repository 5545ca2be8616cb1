from .enumeration import answers_of as answers_of
from .small_db import SmallDB as SmallDB
